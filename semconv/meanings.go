package semconv

// Units and meanings of the metrics that both a process with otelgc and a
// Collector behind it have: one name means one thing.
const (
	UnitSeconds  = "s"
	UnitRequests = "{request}"

	MeaningRequests         = "Requests, by how many collections delayed them; in cycle fidelity by how many paused them for certain, whether that delayed them or not."
	MeaningRequestTime      = "Duration of all requests, by how many collections delayed them: the denominator of every share."
	MeaningRequestStallTime = "Time of all requests by its owner: the causes, and app, app_or_host, uncertain and unseen. Sums to otelgc.request.time."
)
