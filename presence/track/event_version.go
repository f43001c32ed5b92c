package track

// StreamVersion is the version of the JSON in Event.Data. Within a version fields are added, and
// never renamed or given another meaning (rule E3).
const StreamVersion = 1
