package credentials

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/kafka-operators/kafka-operators/kafka"
)

// The properties of Kafka's clients that ParseCustomSASL parses (the last three: KIP-1139).
const (
	// PropertyClientID and PropertyClientSecret contain the client's own credentials for OAUTHBEARER.
	PropertyClientID     = "sasl.oauthbearer.client.credentials.client.id"
	PropertyClientSecret = "sasl.oauthbearer.client.credentials.client.secret"

	propertyPrefix        = "sasl."
	propertyMechanism     = "sasl.mechanism"
	propertyJAAS          = "sasl.jaas.config"
	propertyTokenEndpoint = "sasl.oauthbearer.token.endpoint.url"
	propertyScope         = "sasl.oauthbearer.scope"
)

// classProperties name Java classes. The values that match what this operator does anyway are accepted, because Kafka's own clients require
// them.
func classProperties() map[string][]string {
	const prefix = "org.apache.kafka.common.security.oauthbearer."
	return map[string][]string{
		"sasl.login.callback.handler.class": {prefix + "OAuthBearerLoginCallbackHandler", prefix + "secured.OAuthBearerLoginCallbackHandler",
			"io.strimzi.kafka.oauth.client.JaasClientOauthLoginCallbackHandler"},
		"sasl.oauthbearer.jwt.retriever.class": {prefix + "ClientCredentialsJwtRetriever", prefix + "DefaultJwtRetriever"},
	}
}

func supportedProperties() string {
	names := append(slices.Sorted(maps.Keys(classProperties())), propertyMechanism, propertyJAAS, propertyTokenEndpoint, PropertyClientID,
		PropertyClientSecret, propertyScope)
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ", ")
}

// ParseCustomSASL parses Kafka client properties, as a JSON object (STRIMZI_SASL_CUSTOM_CONFIG_JSON), as a login. It does not require
// credentials, since a Secret may contain them. Its errors are *Invalid, several joined, and never quote a value.
func ParseCustomSASL(text string) (SASL, error) {
	properties, err := parseProperties(text)
	if err != nil {
		return SASL{}, err
	}
	errs := checkProperties(properties)
	mechanism, err := readMechanism(properties[propertyMechanism])
	if err != nil {
		return SASL{}, errors.Join(append(errs, err)...)
	}
	module := loginModule{options: map[string]string{}}
	if jaas := properties[propertyJAAS]; jaas != "" {
		if module, err = parseJAAS(jaas); err == nil {
			err = module.suits(mechanism)
		}
		if err != nil {
			return SASL{}, errors.Join(append(errs, err)...)
		}
	}
	login := SASL{Mechanism: mechanism}
	if mechanism == kafka.SASLOAuthBearer {
		login.OAuth, err = readOAuth(properties, module)
	} else {
		login.Username, login.Password, err = readUser(properties, module)
	}
	if err := errors.Join(append(errs, err)...); err != nil {
		return SASL{}, err
	}
	return login, nil
}

// parseProperties parses a flat JSON object. Unlike Strimzi's, its errors never quote the text, which contains secrets.
func parseProperties(text string) (map[string]string, error) {
	const failed = "SASL custom config properties deserialize failed"
	const remedy = "use one JSON object whose values are strings, numbers or booleans"
	decoder := json.NewDecoder(strings.NewReader(withoutComments(text)))
	decoder.UseNumber()
	malformed := func(what string) error {
		return invalid(fmt.Sprintf("%s: %s (at byte %d)", failed, what, decoder.InputOffset()), remedy)
	}
	if token, err := decoder.Token(); err != nil || token != json.Delim('{') {
		return nil, malformed("not a JSON object")
	}
	properties := map[string]string{}
	for decoder.More() {
		token, err := decoder.Token()
		key, ok := token.(string)
		if err != nil || !ok {
			return nil, malformed("not a key")
		}
		if _, twice := properties[key]; twice {
			return nil, invalid("duplicate key: "+key, "list each property once")
		}
		value, err := decoder.Token()
		if err != nil {
			return nil, malformed("not a value")
		}
		switch value := value.(type) {
		case string, json.Number, bool:
			properties[key] = fmt.Sprint(value)
		default:
			return nil, malformed("the value of " + key + " is not a string")
		}
	}
	if _, err := decoder.Token(); err != nil {
		return nil, malformed("the object is incomplete")
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, malformed("unexpected data after the object")
	}
	if len(properties) == 0 {
		return nil, invalid("SASL custom config properties empty", "give at least "+propertyMechanism+", or unset the variable")
	}
	return properties, nil
}

// withoutComments overwrites comments, // and /* */, with blanks; Strimzi allows them in this JSON.
func withoutComments(text string) string {
	out := []byte(text)
	for i := 0; i < len(out); {
		end := i + 1
		switch {
		case out[i] == '"':
			end = endOfString(text, i)
		case strings.HasPrefix(text[i:], "//"):
			end = blank(out, i, text, "\n", 0)
		case strings.HasPrefix(text[i:], "/*"):
			end = blank(out, i, text, "*/", 2)
		}
		i = end
	}
	return string(out)
}

// endOfString returns the index after the JSON string that begins at i.
func endOfString(text string, i int) int {
	for i++; i < len(text) && text[i] != '"'; i++ {
		if text[i] == '\\' {
			i++
		}
	}
	return min(i+1, len(text))
}

// blank overwrites from i to the closing text, of which closing bytes belong to the comment, and returns the index of its end.
func blank(out []byte, i int, text, closing string, belongs int) int {
	end := len(text)
	// The opening has two bytes: /*/ is not a whole comment.
	if at := strings.Index(text[i+2:], closing); at >= 0 {
		end = i + 2 + at + belongs
	}
	for ; i < end; i++ {
		out[i] = ' '
	}
	return end
}

// checkProperties rejects unsupported properties: without one of them, the client might log in differently than intended.
func checkProperties(properties map[string]string) []error {
	var errs []error
	for _, key := range slices.Sorted(maps.Keys(properties)) {
		switch key {
		case propertyMechanism, propertyJAAS, propertyTokenEndpoint, PropertyClientID, PropertyClientSecret, propertyScope:
			continue
		}
		classes, known := classProperties()[key]
		switch {
		case !strings.HasPrefix(key, propertyPrefix):
			errs = append(errs, invalid("SASL custom config properties not SASL properties. customProperty: '"+key+"'",
				"give keys that begin with "+propertyPrefix))
		case !known:
			errs = append(errs, invalid(key+" is not supported", "supported are "+supportedProperties()))
		case !slices.Contains(classes, properties[key]):
			errs = append(errs, invalid(key+" names a Java class, which this operator can't run",
				"remove it, or use one of "+strings.Join(classes, ", ")))
		}
	}
	return errs
}

func readMechanism(text string) (kafka.SASLMechanism, error) {
	switch m := kafka.SASLMechanism(text); m {
	case kafka.SASLPlain, kafka.SASLScramSHA256, kafka.SASLScramSHA512, kafka.SASLOAuthBearer:
		return m, nil
	case "":
		return "", invalid(propertyMechanism+" is not set", "supported are "+supportedMechanisms())
	case "AWS_MSK_IAM":
		return "", invalid(propertyMechanism+" AWS_MSK_IAM is not supported",
			"use SCRAM-SHA-512 or mTLS, which MSK offers too; supported are "+supportedMechanisms())
	case "GSSAPI":
		return "", invalid(propertyMechanism+" GSSAPI (Kerberos) is not supported", "supported are "+supportedMechanisms())
	}
	return "", invalid("Invalid SASL_MECHANISM type: "+text, "supported are "+supportedMechanisms())
}

// readUser reads name and password from the login module.
func readUser(properties map[string]string, module loginModule) (string, Masked, error) {
	var errs []error
	for _, key := range []string{propertyTokenEndpoint, PropertyClientID, PropertyClientSecret, propertyScope} {
		if _, given := properties[key]; given {
			errs = append(errs, invalid(key+" does not belong to mechanism "+properties[propertyMechanism],
				"remove it, or use "+string(kafka.SASLOAuthBearer)))
		}
	}
	username, password := module.take("username"), Conceal(module.take("password"))
	return username, password, errors.Join(append(errs, module.rest("username and password"))...)
}

// extensionPrefixes mark SASL extensions among the options of the login module: Kafka's form, and that of Strimzi's OAuth library.
var extensionPrefixes = []string{"extension_", "oauth.sasl.extension."}

// extensionName is KIP-342's rule for the names of SASL extensions.
var extensionName = regexp.MustCompile(`^[A-Za-z]+$`)

// readOAuth reads the client credentials grant from properties, and from the login module, where older clients have it.
func readOAuth(properties map[string]string, module loginModule) (*OAuth, error) {
	var errs []error
	pick := func(property string, options ...string) string {
		value := properties[property]
		for _, option := range options {
			other := module.take(option)
			if value != "" && other != "" && value != other {
				errs = append(errs, invalid("duplicate key: "+property+" and "+option+" in "+propertyJAAS+" differ", "give it once"))
			}
			value = max(value, other) // at most one of them is not empty, or they are equal
		}
		return value
	}
	oauth := &OAuth{
		TokenEndpoint: pick(propertyTokenEndpoint, "oauth.token.endpoint.uri"),
		ClientID:      pick(PropertyClientID, "clientId", "oauth.client.id"),
		ClientSecret:  Conceal(pick(PropertyClientSecret, "clientSecret", "oauth.client.secret")),
		Scope:         pick(propertyScope, "scope", "oauth.scope"),
		Extensions:    map[string]string{},
	}
	for _, option := range slices.Sorted(maps.Keys(module.options)) {
		for _, prefix := range extensionPrefixes {
			name, is := strings.CutPrefix(option, prefix)
			if !is {
				continue
			}
			oauth.Extensions[name] = module.take(option)
			if !extensionName.MatchString(name) || name == "auth" {
				errs = append(errs, invalid(option+" is not a valid SASL extension", "use letters only, and not auth, which Kafka reserves"))
			}
		}
	}
	errs = append(errs, module.rest("clientId, clientSecret, scope and extension_<name>"), checkTokenEndpoint(oauth.TokenEndpoint))
	return oauth, errors.Join(errs...)
}

func checkTokenEndpoint(text string) error {
	u, err := url.Parse(text)
	switch {
	case text == "":
		return invalid(propertyTokenEndpoint+" is not set", "give the https URL of the token endpoint")
	case err != nil || u.Host == "" || u.User != nil || u.Fragment != "":
		return invalid(propertyTokenEndpoint+" is not a URL", "give the https URL of the token endpoint, without user and fragment")
	case u.Scheme != "https":
		return invalid(propertyTokenEndpoint+" is not an https URL, so the client's secret would be sent in clear text", "use https")
	}
	return nil
}
