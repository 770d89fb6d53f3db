import { useEffect, useRef } from "react";
import { cell, type Cell } from "./cell.ts";
import { usePage } from "./page.ts";

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

/** Offers commands for as long as the component is there. They are known by their ids, titles and keys; `run` is the last one given. */
export function useCommands(commands: readonly Command[]): void {
  const { commands: registry } = usePage();
  const last = useRef(commands);
  useEffect(() => {
    last.current = commands;
  });
  const shape = JSON.stringify(commands.map(({ run: _run, ...rest }) => rest));
  useEffect(() => {
    const known = JSON.parse(shape) as Omit<Command, "run">[];
    return registry.add(
      known.map((command) => ({
        ...command,
        run: () => last.current.find(({ id }) => id === command.id)?.run(),
      })),
    );
  }, [registry, shape]);
}
