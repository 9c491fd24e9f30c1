"""Compile a function of one element, made of NumPy arithmetic alone, into an equal program of whole columns."""
