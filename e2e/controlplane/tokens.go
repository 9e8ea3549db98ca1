package controlplane

import (
	"context"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/client-go/util/keyutil"
)

// ServiceAccountToken returns a token of a service account, as kubectl create token does, but with any lifetime: the API server issues none
// for less than ten minutes.
func (p *ControlPlane) ServiceAccountToken(ctx context.Context, namespace, name string, life time.Duration) (string, error) {
	made, err := p.Kubectl(ctx, "create", "token", name, "-n", namespace)
	if err != nil {
		return "", err
	}
	key, err := keyutil.PrivateKeyFromFile(filepath.Join(p.dir, "certificates", "sa-signer.key"))
	if err != nil {
		return "", err
	}
	signer, is := key.(*ecdsa.PrivateKey)
	if !is {
		return "", fmt.Errorf("the API server signs tokens with a %T", key)
	}
	return resign(strings.TrimSpace(made), signer, time.Now().Add(life))
}

// resign returns the token with another expiry, signed again (RFC 7515, ES256).
func resign(token string, key *ecdsa.PrivateKey, end time.Time) (string, error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return "", fmt.Errorf("this is no JWT: %s", token)
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return "", err
	}
	claims := map[string]any{}
	if err := json.Unmarshal(text, &claims); err != nil {
		return "", err
	}
	claims["exp"] = end.Unix()
	if text, err = json.Marshal(claims); err != nil {
		return "", err
	}
	signed := parts[0] + "." + base64.RawURLEncoding.EncodeToString(text)
	sum := sha256.Sum256([]byte(signed))
	r, s, err := ecdsa.Sign(rand.Reader, key, sum[:])
	if err != nil {
		return "", err
	}
	signature := append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...)
	return signed + "." + base64.RawURLEncoding.EncodeToString(signature), nil
}
