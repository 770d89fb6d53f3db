import { cell, type Cell } from "../cell.ts";

/** Something that a person can do by a key, and find in the palette and in the list of shortcuts. */
export interface Command {
  readonly id: string;
  readonly title: string;
  readonly group: string;
  /** `mod+k`, `shift+j`, `?`; `mod` is Command on a Mac and Control elsewhere. Single letters do nothing while somebody types. */
  readonly keys?: string | undefined;
  /** More words that the palette finds it by. */
  readonly words?: string | undefined;
  /** Not offered in the palette: it needs a place that has the focus. */
  readonly hidden?: boolean | undefined;
  /** The key is heard by the place that has the focus: here it is only told of. */
  readonly heardInPlace?: boolean | undefined;
  /** One of many: the palette has it once something is looked for. */
  readonly onlyFound?: boolean | undefined;
  readonly run: () => void;
}

export interface Commands {
  readonly all: Cell<readonly Command[]>;
  add(commands: readonly Command[]): () => void;
}

export function createCommands(): Commands {
  const groups = new Set<readonly Command[]>();
  const all = cell<readonly Command[]>([]);
  const tell = () => all.set([...groups].flat());
  return {
    all,
    add(commands) {
      groups.add(commands);
      tell();
      return () => {
        groups.delete(commands);
        tell();
      };
    },
  };
}
