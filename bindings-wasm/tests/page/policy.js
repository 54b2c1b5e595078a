// Says what the policy let run.
const { inline } = document.documentElement.dataset;
let words = inline === undefined ? "" : "inline ran, ";
try {
  words += `eval ${(0, eval)("'ran'")}`;
} catch {
  words += "eval refused";
}
document.getElementById("said").textContent = words;
