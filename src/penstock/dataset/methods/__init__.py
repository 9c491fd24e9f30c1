"""The methods of `Dataset`, split by topic."""
