// Package policy decides from which namespace a topic may be managed (docs/decisions/namespace-policy.md).
//
// The rules are pure: Parse reads a policy and refuses one that could give a topic to two namespaces, Check applies it. Around them stand a
// Watcher, which follows the policy's file while the operator runs, and the subcommand with which people check a file before they apply it.
package policy
