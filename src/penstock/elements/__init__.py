"""What flows through a pipeline: nested elements, their specs, and chunks of them."""
