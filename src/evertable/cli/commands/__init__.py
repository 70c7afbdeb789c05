"""One module per subcommand: ``foo_bar.py`` defines ``foo_bar()``, which becomes ``evertable foo-bar``.

The function's docstring is the help text and ends with an example. Slow imports go into the function, so that
``evertable --help`` stays fast. Errors that a user can fix are raised as EvertableError; ``main`` prints them.
"""
