import type { Model } from "@deltawire/agent";
import { EventQueue } from "../tasks/event-queue.ts";
import { modelError } from "../tasks/relay-model.ts";
import type { MediaType } from "./endpoint-call.ts";
import type { MediaModelOptions } from "./media-round.ts";

/**
 * A model that draws, edits, listens or speaks, of the upstream of that name. Of a request it reads the last message of the
 * user, and `media`: more parameters of the endpoint.
 */
export function mediaModel(options: MediaModelOptions, name: string, type: MediaType): Model {
  return {
    stream: (request, signal, report) => ({
      [Symbol.asyncIterator]: () => {
        const queue = new EventQueue(signal);
        // Most gateways never need it.
        import("./media-round.ts").then(
          ({ MediaRound }) => {
            const round = new MediaRound(options, queue, name, type);
            return round.run(request, report ?? (() => undefined));
          },
          (error: unknown) => queue.fail(modelError(error)),
        );
        return queue;
      },
    }),
  };
}
