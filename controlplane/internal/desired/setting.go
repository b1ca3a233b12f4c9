package desired

import (
	"fmt"
	"slices"

	"github.com/berth-proxy/berth/api/v1alpha1"
)

// Setting is one thing that can be said of a backend, by an annotation of an Ingress or by a field of a BackendPolicy. The texts are the documentation's, in Markdown.
type Setting struct {
	// Annotation stands behind berth.dev/, Field below a BackendPolicy's spec; empty where it has none.
	Annotation, Field string
	// Values are what it may be, Default what counts where nobody says anything.
	Values, Default string
	// Does is what it is for, Costs what is to be known before it is used.
	Does, Costs string

	read reader
}

// A reader reads one value into the target, or says what it should be. What a value may be is closed: words from a list, numbers, times, one name and one path without
// white space (WANT-3).
type reader func(into *Annotations, value string) error

// AllSettings are those of this version, in the order of the documentation.
func AllSettings() []Setting { return slices.Clone(all) }

var all = []Setting{
	{
		"balance", "balance", "`roundrobin`, `leastconn`, `random`, `source`, `uri`",
		"`roundrobin`; `leastconn` where the port's `appProtocol` is a WebSocket",
		"how requests are spread over the pods; `source` and `uri` keep a client address or a path with one pod, by consistent hashing",
		"`source` and `uri` move a part of the clients whenever a pod comes or goes; each node counts for itself",
		readBalance,
	},
	{
		"timeout-connect", "timeouts.connect", "a duration", "the Fleet's, `" + string(v1alpha1.DefaultConnect) + "`",
		"how long a pod may take to accept a connection, at each of five tries",
		"a pod that vanished without a word costs its requests this long before they go to another",
		readDuration(func(a *Annotations) *v1alpha1.Duration { return &a.Settings.TimeoutConnect }),
	},
	{
		"timeout-server", "timeouts.server", "a duration", "the Fleet's, `" + string(v1alpha1.DefaultServer) + "`",
		"how long a pod may be silent in the middle of a request",
		"a reload's old worker lives as long as its longest request",
		readDuration(func(a *Annotations) *v1alpha1.Duration { return &a.Settings.TimeoutServer }),
	},
	{
		"timeout-queue", "timeouts.queue", "a duration", "`" + string(DefaultQueue) + "`",
		"how long a request waits where all pods have `max-connections`; then it is a 503",
		"none",
		readDuration(func(a *Annotations) *v1alpha1.Duration { return &a.Settings.TimeoutQueue }),
	},
	{
		"affinity", "affinity.cookie", "`cookie`, `none`", "`none`",
		"`cookie` keeps a client with the pod that answered it first, by a cookie that HAProxy sets and the pod never sees; the same on every node, in every slot, after a reload; `Secure` over TLS",
		"load is spread by clients and no longer by requests; the cookie is derived from the pod's address and so tells it to who knows the names in the cluster",
		readAffinity,
	},
	{
		"affinity-cookie-name", "affinity.cookie.name", "1 to 64 letters, digits and `_-.`", "`berth_` and 8 digits that are the service port's own",
		"the cookie's name",
		"two services on one host must not share a name: each would overwrite the other's cookie",
		readCookieName,
	},
	{
		"sticky-drain", "affinity.stickyDrain", "`break`, `keep`", "`break`",
		"what a client with a cookie meets whose pod is terminating: with `break` its next request goes to another pod as soon as one is ready, with `keep` it stays until the pod is gone",
		"`break` ends sessions that live in the pod a little sooner; `keep` sends requests to a pod that is about to exit",
		readStickyDrain,
	},
	{
		"check", "check.http.path, check.tcp", "`none`, `tcp`, `http:/path`", "`none`: readiness comes from Kubernetes",
		"HAProxy asks the pods itself, beside what Kubernetes says; three failed checks take a pod out, two good ones bring it back; checks speak the backend's protocol, " +
			"and ask for the host `SERVICE.NAMESPACE.svc`",
		"a request for each pod, node and interval, and one file descriptor for each slot, free ones included",
		readCheck,
	},
	{
		"check-interval", "check.interval", "a duration", "`" + string(DefaultCheckInterval) + "`",
		"the time between two checks of a pod, and the longest that one may take",
		"a pod that hangs is taken out after three intervals",
		readDuration(func(a *Annotations) *v1alpha1.Duration { return &a.Settings.CheckInterval }),
	},
	{
		"backend-protocol", "protocol", "`http`, `h2c`, `https`, `h2`", "what the port's `appProtocol` says, else `http`",
		"what is spoken to the pods: HTTP/1.1 or HTTP/2 (`h2c`), and the same over TLS (`https`, `h2`) with the client's host as server name",
		"TLS encrypts and does not verify who the pod is; a slot with TLS takes 22 KB of memory instead of 6, and 0.14 ms of a reload",
		readProtocol,
	},
	{
		"max-connections", "maxConnectionsPerPod", fmt.Sprintf("1 to %d", v1alpha1.MaxConnectionsPerPod), "no limit",
		"the most requests that **one node** has under way at one pod; the next ones wait, see `timeout-queue`",
		"with n nodes a pod gets up to n times as many",
		readMaxConnections,
	},
	{
		"slots-minimum", "slots.minimum", fmt.Sprintf("1 to %d", v1alpha1.MaxSlotsMinimum), "the Fleet's, `" + fmt.Sprint(v1alpha1.DefaultSlotsMinimum) + "`",
		"the least number of slots that are kept, for a service that is known to grow at once",
		"6 KB of each worker's memory and 25 µs of each reload for every slot",
		readSlotsMinimum,
	},
	{
		"weights", "", "`web=90, web-canary=10`: 2 to 8 services with weights", "all requests go to the path's service",
		"requests for the Ingress's paths to the first service are shared among all of them, each on the path's port, in proportion to their weights, in whole percents and at least one",
		"each request is dealt by itself: a client meets all of them, and with `affinity` one pod of each; no reload for other weights of services that are served already: they are map entries",
		readWeights,
	},
	{
		"ssl-redirect", "", "`true`, `false`", "`true`",
		"requests on the HTTP port for a host under `tls` are sent to HTTPS with 308",
		"none; it is a map entry and needs no reload",
		readSSLRedirect,
	},
}
