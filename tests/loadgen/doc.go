// Package loadgen sends requests through proxies and never retries one. An ordinary HTTP client hides exactly the
// failures that Berth is about: net/http replays a request when the connection that it reused turns out to be closed.
// So the generator has connections of its own, one exchange at a time (or HTTP/2 streams), and every request that does
// not end in the expected answer of the expected service is a failure.
//
// A Generator owns its connections and its counts. It knows nothing of Berth, HAProxy or Kubernetes.
//
// Invariants:
//
//	LOAD-1  A request is written at most once. Whatever goes wrong with it after the first byte is one failure.
//	LOAD-2  A connection that closed while idle is opened anew before a request is written: no failure. When the close
//	        meets a written request it is one, and counted as a race besides.
//	LOAD-3  An answer without the expected service's name, with another status, or to a body other than the one that
//	        was sent is a failure.
//	LOAD-4  When the generator is stopped, requests that run are finished and judged; none is cut off and none forgotten.
//	LOAD-5  After SetRoutes has returned, no request by the old routes is running.
package loadgen
