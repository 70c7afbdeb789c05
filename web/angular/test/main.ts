/** The unit-test builder wants an entry point; tests bring their own. */
export {};
