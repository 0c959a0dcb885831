"""Tables of the database that have questions and changes of their own, one module for each."""
