import type { ResponseUsage, UpstreamFailure } from "@deltawire/wire";

/** What came of asking an upstream once. Only `answered` means that the client was told anything. */
export type Outcome =
  | { is: "answered"; usage: ResponseUsage | undefined; failure: UpstreamFailure | undefined }
  /** With a status, or with an error as the first thing in its reply. */
  | { is: "refused"; status: number; headers: Readonly<Record<string, string>>; body: unknown }
  /** The reply failed, and the client has not been told of any of it. */
  | { is: "failed"; failure: UpstreamFailure }
  /**
   * `connected`: the connection was made, so the address is not at fault. `answered`: something was there, but sent
   * nothing that could be read.
   */
  | { is: "unreachable"; timedOut: boolean; cause: string; connected?: true; answered?: true }
  | { is: "left" };

/** Nothing has gone to the client: it can be tried again. */
export type FailedOutcome = Exclude<Outcome, { is: "answered" | "left" }>;
