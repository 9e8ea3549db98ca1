// Package credentials turns the operator's options and the Secrets they name into a kafka.Config, and follows the Secrets while running.
//
// It must not say what the Secrets hold: its errors and logs name Secrets and entries only.
package credentials
