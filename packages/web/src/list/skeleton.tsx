const rows = [72, 54, 81, 63, 45, 70, 58];

/** Rows to come: where nothing is known yet, so that nothing jumps when it is. */
export function Skeleton({ label }: { label: string }) {
  return (
    <div className="list-skeleton" role="status">
      <span className="for-readers">{label}</span>
      {rows.map((width) => (
        <span key={width} className="list-ghost" data-width={Math.round(width / 15)} />
      ))}
    </div>
  );
}
