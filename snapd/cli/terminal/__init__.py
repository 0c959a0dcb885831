"""What people see in a terminal, and how they are asked."""
