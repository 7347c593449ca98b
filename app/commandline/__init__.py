"""The commands of the command line, one module each. None but `window` imports Qt."""
