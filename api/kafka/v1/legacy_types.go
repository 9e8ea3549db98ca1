package v1

// What this file declares was removed from Strimzi's v1 and is not supported. The fields are in the schema so that manifests that
// carry them are stored as they are, and the operator can say what of them it does not do.

// SecretKey is a key of a Secret.
type SecretKey struct {
	// The name of the Secret.
	// +optional
	SecretName string `json:"secretName,omitempty"`

	// The key of its data.
	// +optional
	Key string `json:"key,omitempty"`
}

// TrustedCertificate is a certificate in a Secret.
type TrustedCertificate struct {
	// The name of the Secret.
	// +optional
	SecretName string `json:"secretName,omitempty"`

	// The key of the Secret that contains the certificate.
	// +optional
	Certificate string `json:"certificate,omitempty"`

	// A pattern of keys of its data.
	// +optional
	Pattern string `json:"pattern,omitempty"`
}

// OAuthAuthentication holds the fields of the authentication of type oauth.
type OAuthAuthentication struct {
	// +optional
	AccessTokenIsJwt *bool `json:"accessTokenIsJwt,omitempty"`
	// +optional
	CheckAccessTokenType *bool `json:"checkAccessTokenType,omitempty"`
	// +optional
	CheckAudience *bool `json:"checkAudience,omitempty"`
	// +optional
	CheckIssuer *bool `json:"checkIssuer,omitempty"`
	// +optional
	ClientAudience string `json:"clientAudience,omitempty"`
	// +optional
	ClientGrantType string `json:"clientGrantType,omitempty"`
	// +optional
	ClientID string `json:"clientId,omitempty"`
	// +optional
	ClientScope string `json:"clientScope,omitempty"`
	// +optional
	ClientSecret *SecretKey `json:"clientSecret,omitempty"`
	// +optional
	ConnectTimeoutSeconds *int32 `json:"connectTimeoutSeconds,omitempty"`
	// +optional
	CustomClaimCheck string `json:"customClaimCheck,omitempty"`
	// +optional
	DisableTLSHostnameVerification *bool `json:"disableTlsHostnameVerification,omitempty"`
	// +optional
	EnableECDSA *bool `json:"enableECDSA,omitempty"`
	// +optional
	EnableMetrics *bool `json:"enableMetrics,omitempty"`
	// +optional
	EnableOauthBearer *bool `json:"enableOauthBearer,omitempty"`
	// +optional
	EnablePlain *bool `json:"enablePlain,omitempty"`
	// +optional
	FailFast *bool `json:"failFast,omitempty"`
	// +optional
	FallbackUserNameClaim string `json:"fallbackUserNameClaim,omitempty"`
	// +optional
	FallbackUserNamePrefix string `json:"fallbackUserNamePrefix,omitempty"`
	// +optional
	GroupsClaim string `json:"groupsClaim,omitempty"`
	// +optional
	GroupsClaimDelimiter string `json:"groupsClaimDelimiter,omitempty"`
	// +optional
	HTTPRetries *int32 `json:"httpRetries,omitempty"`
	// +optional
	HTTPRetryPauseMs *int32 `json:"httpRetryPauseMs,omitempty"`
	// +optional
	IncludeAcceptHeader *bool `json:"includeAcceptHeader,omitempty"`
	// +optional
	IntrospectionEndpointURI string `json:"introspectionEndpointUri,omitempty"`
	// +optional
	JwksEndpointURI string `json:"jwksEndpointUri,omitempty"`
	// +optional
	JwksExpirySeconds *int32 `json:"jwksExpirySeconds,omitempty"`
	// +optional
	JwksIgnoreKeyUse *bool `json:"jwksIgnoreKeyUse,omitempty"`
	// +optional
	JwksMinRefreshPauseSeconds *int32 `json:"jwksMinRefreshPauseSeconds,omitempty"`
	// +optional
	JwksRefreshSeconds *int32 `json:"jwksRefreshSeconds,omitempty"`
	// +optional
	MaxSecondsWithoutReauthentication *int32 `json:"maxSecondsWithoutReauthentication,omitempty"`
	// +optional
	ReadTimeoutSeconds *int32 `json:"readTimeoutSeconds,omitempty"`
	// +optional
	ServerBearerTokenLocation string `json:"serverBearerTokenLocation,omitempty"`
	// +optional
	// +listType=atomic
	TLSTrustedCertificates []TrustedCertificate `json:"tlsTrustedCertificates,omitempty"`
	// +optional
	TokenEndpointURI string `json:"tokenEndpointUri,omitempty"`
	// +optional
	UserInfoEndpointURI string `json:"userInfoEndpointUri,omitempty"`
	// +optional
	UserNameClaim string `json:"userNameClaim,omitempty"`
	// +optional
	UserNamePrefix string `json:"userNamePrefix,omitempty"`
	// +optional
	ValidIssuerURI string `json:"validIssuerUri,omitempty"`
	// +optional
	ValidTokenType string `json:"validTokenType,omitempty"`
}

// ServerAuthorization holds the fields of the types of authorization that ask a server, opa and keycloak.
type ServerAuthorization struct {
	// +optional
	// +listType=atomic
	TLSTrustedCertificates []TrustedCertificate `json:"tlsTrustedCertificates,omitempty"`
	// +optional
	EnableMetrics *bool `json:"enableMetrics,omitempty"`

	// +optional
	URL string `json:"url,omitempty"`
	// +optional
	AllowOnError *bool `json:"allowOnError,omitempty"`
	// +optional
	InitialCacheCapacity *int32 `json:"initialCacheCapacity,omitempty"`
	// +optional
	MaximumCacheSize *int32 `json:"maximumCacheSize,omitempty"`
	// +optional
	ExpireAfterMs *int64 `json:"expireAfterMs,omitempty"`

	// +optional
	ClientID string `json:"clientId,omitempty"`
	// +optional
	TokenEndpointURI string `json:"tokenEndpointUri,omitempty"`
	// +optional
	DisableTLSHostnameVerification *bool `json:"disableTlsHostnameVerification,omitempty"`
	// +optional
	DelegateToKafkaAcls *bool `json:"delegateToKafkaAcls,omitempty"`
	// +optional
	GrantsRefreshPeriodSeconds *int32 `json:"grantsRefreshPeriodSeconds,omitempty"`
	// +optional
	GrantsRefreshPoolSize *int32 `json:"grantsRefreshPoolSize,omitempty"`
	// +optional
	GrantsMaxIdleTimeSeconds *int32 `json:"grantsMaxIdleTimeSeconds,omitempty"`
	// +optional
	GrantsGcPeriodSeconds *int32 `json:"grantsGcPeriodSeconds,omitempty"`
	// +optional
	GrantsAlwaysLatest *bool `json:"grantsAlwaysLatest,omitempty"`
	// +optional
	ConnectTimeoutSeconds *int32 `json:"connectTimeoutSeconds,omitempty"`
	// +optional
	ReadTimeoutSeconds *int32 `json:"readTimeoutSeconds,omitempty"`
	// +optional
	HTTPRetries *int32 `json:"httpRetries,omitempty"`
	// +optional
	IncludeAcceptHeader *bool `json:"includeAcceptHeader,omitempty"`
}
