// Package policy decides from which namespace a topic may be managed (docs/decisions/namespace-policy.md).
//
// The rules are pure: Parse reads a policy and rejects one that could give a topic to two namespaces, and Check applies it. A Watcher
// follows the policy's file while the operator runs, and a subcommand checks a file before users apply it.
package policy
