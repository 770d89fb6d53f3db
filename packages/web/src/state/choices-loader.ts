import type { ChatChoices, ChatClient } from "@deltawire/tasks/chats";
import type { BrowserEnvironment } from "../browser/browser-environment.ts";
import { createCell, type Cell } from "../cell.ts";

export interface ChoicesLoader {
  readonly choices: Cell<ChatChoices | undefined>;
  /** Reloads the choices now. If that fails, the previous choices stay. */
  reload(): Promise<void>;
  close(): void;
}

export interface ChoicesLoaderOptions {
  readonly client: Pick<ChatClient, "choices">;
  readonly environment: Pick<BrowserEnvironment, "schedule" | "isVisible">;
  /** False while there is no connection. */
  readonly canRequest: () => boolean;
}

const initialRetryMs = 3_000;
const slowRetryMs = 15_000;
const maxInitialRetries = 40;

/**
 * Loads the models, agents and tools that a chat can use. While no model is available, or none is the default, reloads them:
 * every 3 s for 2 min, then every 15 s, if the page is visible.
 */
export function createChoicesLoader({
  client,
  environment,
  canRequest,
}: ChoicesLoaderOptions): ChoicesLoader {
  const choices = createCell<ChatChoices | undefined>(undefined);
  let cancel = (): void => undefined;
  let retries = 0;
  let isClosed = false;

  const reload = async (): Promise<void> => {
    cancel();
    try {
      choices.set(await client.choices());
    } catch {
      // The choices are reloaded when the connection is back.
    }
    scheduleRetry();
  };
  const scheduleRetry = (): void => {
    cancel();
    const current = choices.get();
    if (isClosed || current === undefined) return;
    if (!lacksResponder(current)) {
      retries = 0;
      return;
    }
    cancel = environment.schedule(
      retries < maxInitialRetries ? initialRetryMs : slowRetryMs,
      () => {
        if (!environment.isVisible() || !canRequest()) return scheduleRetry();
        retries += 1;
        return void reload();
      },
    );
  };
  return {
    choices,
    reload,
    close() {
      isClosed = true;
      cancel();
    },
  };
}

function lacksResponder({ models, defaults }: ChatChoices): boolean {
  return models.length === 0 || (defaults.agent === undefined && defaults.model === undefined);
}
