// Package load drives a service with arrivals that are fixed in advance.
//
// A request's latency counts from the instant at which it was to be sent,
// whether or not a connection was free then: a service that stalls is charged
// for everybody who had to wait, not for the one request that was under way
// (the omission is known as coordinated).
package load
