//! Installed load generators: their command lines, and their reports.
