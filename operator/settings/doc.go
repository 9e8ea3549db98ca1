// Package settings reads the settings of an operator from its environment and its command line.
//
// Each setting stands once, in a [Table]. Reading it, --help, the flags and the tables in the documentation follow from that.
// A flag overrides the variable, the variable overrides the default. Read reports everything that is wrong at once.
//
// A variable has the name and the meaning that Strimzi gives it, the same in every operator. The package reads nothing by itself: callers
// hand in the environment.
package settings
