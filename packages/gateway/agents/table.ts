import { describeAgent } from "./agents.ts";
import { findLimit, type Agent } from "./agent.ts";
import { sceneNames } from "./model/scenes.ts";
import { wires } from "./wires.ts";

/** The cell of the table that a test fills. */
export interface TableCell {
  agent: string;
  upstream: string;
  scene: string;
}

export interface CellResult extends TableCell {
  hasPassed: boolean;
  seconds: number;
}

/**
 * Returns the lines of a table with a row for each agent, API and upstream: the time of each scene, `FAIL`, or `-` if it was not
 * run. Letters refer to the notes below it, on what an agent does not support.
 */
export function formatTable(agents: readonly Agent[], results: readonly CellResult[]): string[] {
  const notes: string[] = [];
  const addNote = (text: string | undefined): string => {
    if (text === undefined) return "";
    if (!notes.includes(text)) notes.push(text);
    return ` ${String.fromCodePoint(97 + notes.indexOf(text))}`;
  };
  const rows = agents.flatMap((agent) =>
    wires.map((upstream) => {
      const name = describeAgent(agent);
      const cells = sceneNames.map((scene) => {
        const cell = results.find(
          (each) => each.agent === name && each.upstream === upstream && each.scene === scene,
        );
        return formatCell(cell) + addNote(findLimit(agent, upstream, scene)?.reason);
      });
      return [name, upstream, ...cells];
    }),
  );
  const header = ["agent", "upstream", ...sceneNames];
  const widths = header.map((_, column) =>
    Math.max(...[header, ...rows].map((row) => row[column]?.length ?? 0)),
  );
  const lines = [header, ...rows].map((row) =>
    row
      .map((text, column) =>
        column < 2 ? text.padEnd(widths[column] ?? 0) : text.padStart(widths[column] ?? 0),
      )
      .join("  "),
  );
  const noteLines = notes.map((text, index) => `${String.fromCodePoint(97 + index)}: ${text}`);
  return [...lines, ...noteLines];
}

function formatCell(cell: CellResult | undefined): string {
  if (cell === undefined) return "-";
  return cell.hasPassed ? `${cell.seconds.toFixed(1)} s` : "FAIL";
}
