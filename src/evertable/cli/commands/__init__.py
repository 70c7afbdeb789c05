"""One file per subcommand. ``foo_bar.py`` defines ``foo_bar()``, which becomes ``evertable foo-bar``.

Its docstring is the help text and ends with an example. Import what is slow inside the function, so that
``evertable --help`` stays quick. Raise EvertableError for what a person can put right: ``main`` shows it.
"""
