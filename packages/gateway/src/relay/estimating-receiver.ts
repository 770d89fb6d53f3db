import type { ReplyReceiver } from "./receiver.ts";
import type { UsageEstimate } from "../security/usage-estimate.ts";

/** Returns a receiver that passes everything on, and adds the text of the reply to the estimate. */
export function createEstimatingReceiver(
  receiver: ReplyReceiver,
  estimate: UsageEstimate,
): ReplyReceiver {
  return {
    isStreaming: receiver.isStreaming,
    get hasSent() {
      return receiver.hasSent;
    },
    send(events, bytes) {
      estimate.push(events);
      return receiver.send(events, bytes);
    },
    keepAlive: () => receiver.keepAlive(),
    reset: () => receiver.reset(),
    end(events, bytes, failure) {
      estimate.push(events);
      receiver.end(events, bytes, failure);
    },
    whenReady: (resume) => receiver.whenReady(resume),
  };
}
