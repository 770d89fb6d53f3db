import type { Model } from "@deltawire/agent";
import { EventQueue } from "../tasks/event-queue.ts";
import { toRelayModelError } from "../tasks/relay-model.ts";
import type { MediaModelType } from "./endpoint-request.ts";
import type { MediaModelOptions } from "./media-round.ts";

/**
 * Creates a model that generates or edits images, transcribes audio or reads text aloud. Its input is the last user message of
 * the request; the `media` field of the request contains additional parameters for the endpoint.
 */
export function createMediaModel(
  options: MediaModelOptions,
  name: string,
  type: MediaModelType,
): Model {
  return {
    stream: (request, signal, report) => ({
      [Symbol.asyncIterator]: () => {
        const queue = new EventQueue(signal);
        // Loaded on first use: most gateways never need it.
        import("./media-round.ts").then(
          ({ MediaRound }) => {
            const round = new MediaRound(options, queue, name, type);
            return round.run(request, report ?? (() => undefined));
          },
          (error: unknown) => queue.fail(toRelayModelError(error)),
        );
        return queue;
      },
    }),
  };
}
