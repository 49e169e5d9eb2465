"""What would have to change for another answer: wishes, searches, and the record of the answers."""
