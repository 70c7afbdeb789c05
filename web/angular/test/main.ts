/** The entry point that the unit-test builder requires; the tests do not use it. */
export {};
