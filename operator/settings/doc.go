// Package settings reads the settings of an operator from its environment and its command line.
//
// A [Table] contains each setting once. Parsing, --help, the flags and the tables in the documentation follow from it. A flag overrides the
// variable, and the variable overrides the default. Read reports all problems at once.
//
// A variable has Strimzi's name and meaning, the same in every operator. The package has no access to the environment: callers pass it.
package settings
