// Package credentials configures how an operator connects to Kafka and logs in: the settings, the Secrets that they name, and changes of
// these Secrets.
//
// The rules for combinations of settings are the same in every operator. Errors and logs name Secrets and entries, never their contents.
package credentials
