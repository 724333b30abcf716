// Package blame says who had the time of the slow requests: it orders requests
// into disjoint bands of latency, sums their shares per band and fidelity, and
// says the result as a table, as JSON and in sentences.
//
// What was not watched stays unseen in every one of them. What was only watched per
// GC cycle counts where it is certain, and the time of it is called "at most" unless
// more of it may be uncertain.
package blame
