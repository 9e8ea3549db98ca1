// Package credentials builds the connection settings and login for Kafka from settings and the Secrets that they name, for every program of
// this project. It reads the formats that users of Kafka and of Strimzi have: PEM, JAAS, the properties of Kafka's Java clients.
//
// It reads nothing from Kubernetes, and opens connections only to fetch tokens for OAUTHBEARER.
package credentials
