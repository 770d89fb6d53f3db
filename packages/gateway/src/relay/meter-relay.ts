import type { AccessKey } from "@deltawire/store";
import { UsageEstimate } from "../security/usage-estimate.ts";
import type { UsageMeter } from "../security/usage-meter.ts";
import type { ExchangeOutcome } from "../upstream/upstream-client.ts";
import { estimateInputTokens } from "./client-request.ts";
import { createEstimatingReceiver } from "./estimating-receiver.ts";
import type { Relay } from "./relay.ts";

export interface RelayMetering {
  /** Undefined: the request was sent without an access key. */
  key: AccessKey | undefined;
  /** Undefined: there are no access keys. */
  meter: Pick<UsageMeter, "countsTokens" | "addModelUsage"> | undefined;
  /** The model that the client requested. */
  model: string;
}

/**
 * Returns a relay that counts the usage of its replies toward the limits of an access key. Usage that an upstream does not report
 * is estimated.
 */
export function meterRelay(
  relay: Pick<Relay, "run">,
  { key, meter, model }: RelayMetering,
): Pick<Relay, "run"> {
  if (key === undefined || meter === undefined) return relay;
  return {
    async run(exchange) {
      const { client, record } = exchange;
      const estimate = meter.countsTokens(key) ? new UsageEstimate() : undefined;
      const receiver =
        estimate === undefined
          ? exchange.receiver
          : createEstimatingReceiver(exchange.receiver, estimate);
      record.usage = undefined;
      let outcome: ExchangeOutcome | undefined;
      try {
        outcome = await relay.run({ ...exchange, receiver });
        return outcome;
      } finally {
        // Servers also charge for a reply that the client aborts.
        const isCharged = estimate?.hasOutput === true || outcome === "aborted";
        const usage =
          record.usage ?? (isCharged ? estimate?.build(estimateInputTokens(client)) : undefined);
        meter.addModelUsage(key, model, usage);
      }
    },
  };
}
