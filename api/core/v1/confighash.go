package v1

import (
	"crypto/sha256"
	"encoding/hex"
)

// ConfigHash is the value of AnnotationConfigHash for a node's configuration file (ConfigMapServerConfig): the first 8 hexadecimal digits
// of its SHA-256.
func ConfigHash(serverConfig string) string {
	sum := sha256.Sum256([]byte(serverConfig))
	return hex.EncodeToString(sum[:4])
}
