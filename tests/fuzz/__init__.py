"""Random tables, options and damage against everything public; `README.md` says how to run and extend it."""
