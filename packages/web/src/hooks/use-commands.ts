import { useEffect, useRef } from "react";
import type { Command } from "../state/commands.ts";
import { usePage } from "./use-page.ts";

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
