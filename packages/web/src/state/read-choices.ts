import type { ChatChoices, ChatClient } from "@deltawire/tasks/chats";
import type { World } from "../browser/world.ts";
import { cell, type Cell } from "../cell.ts";

export interface ReadChoices {
  readonly choices: Cell<ChatChoices | undefined>;
  /** Asks for them now. What cannot be read stays as it was. */
  read(): Promise<void>;
  close(): void;
}

export interface ChoicesParts {
  readonly client: Pick<ChatClient, "choices">;
  readonly world: Pick<World, "schedule" | "isVisible">;
  /** False: nothing is to be asked for now. */
  readonly mayAsk: () => boolean;
}

const soonMs = 3_000;
const laterMs = 15_000;
const mostSoon = 40;

/**
 * What chats can be set to. While nobody could answer it is asked for again, as long as somebody looks: every few seconds at
 * first, then less often.
 */
export function createChoices({ client, world, mayAsk }: ChoicesParts): ReadChoices {
  const choices = cell<ChatChoices | undefined>(undefined);
  let cancel = (): void => undefined;
  let tries = 0;
  let isClosed = false;

  const read = async (): Promise<void> => {
    cancel();
    try {
      choices.set(await client.choices());
    } catch {
      // It is asked for when the connection is back.
    }
    plan();
  };
  const plan = (): void => {
    cancel();
    const known = choices.get();
    if (isClosed || known === undefined) return;
    if (!lacksAnswerer(known)) {
      tries = 0;
      return;
    }
    cancel = world.schedule(tries < mostSoon ? soonMs : laterMs, () => {
      if (!world.isVisible() || !mayAsk()) return plan();
      tries += 1;
      return void read();
    });
  };
  return {
    choices,
    read,
    close() {
      isClosed = true;
      cancel();
    },
  };
}

function lacksAnswerer({ models, defaults }: ChatChoices): boolean {
  return models.length === 0 || (defaults.agent === undefined && defaults.model === undefined);
}
