import { createCell, type Cell } from "../cell.ts";

/** A command with an optional shortcut, offered in the palette and in the list of shortcuts. */
export interface AppCommand {
  readonly id: string;
  readonly title: string;
  readonly group: string;
  /** For example `mod+k`, `shift+j`, `?`. `mod` is Command on a Mac, else Control. Without `mod`, characters are ignored while typing. */
  readonly keys?: string | undefined;
  /** Additional search terms for the palette. */
  readonly keywords?: string | undefined;
  /** True if it is not offered in the palette, for example because it depends on the focus. */
  readonly hidden?: boolean | undefined;
  /** True if the focused component handles the key, and the command is registered only to be listed. */
  readonly isHandledLocally?: boolean | undefined;
  /** True if it is offered in the palette only after a query is typed. */
  readonly isSearchOnly?: boolean | undefined;
  readonly run: () => void;
}

export interface CommandRegistry {
  readonly all: Cell<readonly AppCommand[]>;
  /** Returns a function that removes the commands. */
  register(commands: readonly AppCommand[]): () => void;
}

export function createCommandRegistry(): CommandRegistry {
  const groups = new Set<readonly AppCommand[]>();
  const allCommands = createCell<readonly AppCommand[]>([]);
  const publish = () => allCommands.set([...groups].flat());
  return {
    all: allCommands,
    register(commands) {
      groups.add(commands);
      publish();
      return () => {
        groups.delete(commands);
        publish();
      };
    },
  };
}
