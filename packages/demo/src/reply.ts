import type { ChatRequest } from "@deltawire/wire";
import { answer } from "./answer.ts";
import { chunksOf, completionOf, type Envelope } from "./chunks.ts";
import { withoutUsage } from "./distortions.ts";
import type { Quirk } from "./quirks.ts";
import { cleanBody, wholeBody, type WireStep } from "./wire-steps.ts";

/** A reply with status 200. */
export interface Reply {
  contentType: string;
  steps: WireStep[];
}

/** What the model with this quirk writes for a request that it does not refuse. */
export function replyTo(request: ChatRequest, quirk: Quirk, envelope: Envelope): Reply {
  const answered = answer(request);
  if (request.stream !== true || quirk.neverStreams) {
    const completion = completionOf(answered, envelope);
    const json = JSON.stringify(quirk.whole?.(completion) ?? completion);
    const body = quirk.wholeBody ?? wholeBody;
    return { contentType: "application/json", steps: body(json) };
  }
  const asked = request.stream_options?.include_usage === true;
  const clean = chunksOf(answered, envelope);
  const chunks = asked ? clean : withoutUsage(clean);
  const body = quirk.streamBody ?? cleanBody;
  return {
    contentType: "text/event-stream; charset=utf-8",
    steps: body(quirk.chunks?.(chunks) ?? chunks),
  };
}
