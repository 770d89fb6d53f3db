import type { ResponsesRequest } from "@deltawire/wire";
import { runTimeSliced } from "../event-loop.ts";
import { ModelError, type Model } from "../model.ts";
import { maskAndStore } from "./mask-and-store.ts";
import { maskRequestSteps } from "./mask-request.ts";
import type { PlaceholderStore } from "./placeholder-table.ts";
import { PrivacyError } from "./privacy-error.ts";
import { ReplyUnmasker } from "./reply-unmasker.ts";
import type { Vault } from "./vault.ts";

/**
 * Masks requests and unmasks replies of `model`. `store` receives new private values with their placeholders:
 * those of a request before it is sent, so that the reply can be unmasked, and those that a reply creates before they are
 * shown, so that any process masks them in later requests. If storing fails, nothing is sent or shown.
 */
export function createMaskedModel(model: Model, vault: Vault, store: PlaceholderStore): Model {
  return {
    ...(model.name !== undefined && { name: model.name }),
    async *stream(request, signal, report) {
      const masked = await maskRequest(request, vault, store, signal);
      signal.throwIfAborted();
      const reply = new ReplyUnmasker(vault);
      try {
        for await (const batch of model.stream(masked, signal, report)) {
          const events = reply.push(batch);
          if (vault.hasNewPlaceholders) await storeOrThrow(vault, store);
          if (events.length > 0) yield events;
        }
      } catch (error) {
        if (error instanceof PlaceholdersNotStoredError) throw error.cause;
        const remainingEvents = reply.end();
        const unmasked = unmaskError(error, vault);
        try {
          await vault.storeNewPlaceholders(store);
        } catch {
          throw error;
        }
        if (remainingEvents.length > 0 && !signal.aborted) yield remainingEvents;
        throw unmasked;
      }
      const remainingEvents = reply.end();
      await vault.storeNewPlaceholders(store);
      if (remainingEvents.length > 0) yield remainingEvents;
    },
  };
}

/** Distinguishes failures of the store from those of the model: pending text must not be shown if storing failed. */
class PlaceholdersNotStoredError extends Error {}

async function storeOrThrow(vault: Vault, store: PlaceholderStore): Promise<void> {
  try {
    await vault.storeNewPlaceholders(store);
  } catch (cause) {
    throw new PlaceholdersNotStoredError("new private values could not be stored", { cause });
  }
}

/** Returns the masked request once all placeholders in it are stored. */
async function maskRequest(
  request: ResponsesRequest,
  vault: Vault,
  store: PlaceholderStore,
  signal: AbortSignal,
): Promise<ResponsesRequest> {
  // Values that an answer in another process has learned are masked too.
  if (store.isShared) await vault.refresh(store);
  return maskAndStore(vault, store, async () => {
    try {
      return await runTimeSliced(maskRequestSteps(request, vault), signal);
    } catch (error) {
      // Stores the values learned before the failure: a vault stays in memory until its values are stored.
      await vault.storeNewPlaceholders(store).catch(() => undefined);
      if (error instanceof PrivacyError)
        throw new ModelError(error.code, error.message, { cause: error });
      throw error;
    }
  });
}

/** Unmasks the message of an error: servers quote the request in it. */
function unmaskError(error: unknown, vault: Vault): unknown {
  if (!(error instanceof ModelError)) return error;
  const message = vault.unmask(error.message);
  if (message === error.message) return error;
  const { code, retryable, retryAfterMs } = error;
  return new ModelError(code, message, { retryable, retryAfterMs, cause: error });
}
