// Package credentials says how an operator reaches Kafka and logs in: the settings, the Secrets that they name, and changes of these.
//
// The rules for what belongs together are the same in every operator. Errors and logs name Secrets and entries, never what they hold.
package credentials
