"""From a function of one element, made of NumPy arithmetic alone, to a program of whole columns that equals it."""
