import { unreachable } from "../error.ts";
import type { StreamEnd } from "../machine.ts";
import type { UpstreamFailure } from "../mapping/upstream-error.ts";

/** What an end means for a reply that had not finished (decision 9): never that it is complete. */
export function failureOfEnd(how: StreamEnd): UpstreamFailure {
  switch (how) {
    case "eof":
    case "grace":
      return {
        code: "upstream_stream_truncated",
        message: "the upstream closed the stream before it had finished the reply",
      };
    case "transport_error":
      return {
        code: "upstream_stream_truncated",
        message: "the connection to the upstream broke before it had finished the reply",
      };
    case "idle_timeout":
      return {
        code: "upstream_idle_timeout",
        message: "the upstream sent nothing for too long and had not finished the reply",
      };
    case "aborted":
      return { code: "request_aborted", message: "the request was aborted" };
    default:
      return unreachable(how);
  }
}
