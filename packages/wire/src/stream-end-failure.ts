import { assertNever } from "./error.ts";
import type { StreamEndReason } from "./stream-machine.ts";
import type { UpstreamFailure } from "./mapping/upstream-error.ts";

/** Returns the failure of a reply whose stream ended before it finished (decision 9). */
export function failureFromStreamEnd(reason: StreamEndReason): UpstreamFailure {
  switch (reason) {
    case "eof":
    case "grace":
      return {
        code: "upstream_stream_truncated",
        message: "the upstream closed the stream before the reply was finished",
      };
    case "transport_error":
      return {
        code: "upstream_stream_truncated",
        message: "the connection to the upstream was lost before the reply was finished",
      };
    case "idle_timeout":
      return {
        code: "upstream_idle_timeout",
        message: "the upstream sent nothing for too long before the reply was finished",
      };
    case "aborted":
      return { code: "request_aborted", message: "the request was aborted" };
    default:
      return assertNever(reason);
  }
}
