// Package credentials says how to reach Kafka and log in, from settings and the Secrets that they name: the same for every program of this
// project. It knows the forms in which users of Kafka and of Strimzi have them: PEM, JAAS, the properties of Kafka's Java clients.
//
// It reads nothing from Kubernetes and connects to nothing, but for the tokens of OAUTHBEARER when they are asked for.
package credentials
