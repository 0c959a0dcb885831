"""Who wrote each line, and which changes of agents nobody has looked at yet: both follow from the timeline."""
