#include "compile/source.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>

#include "base/hash.h"
#include "compile/compiler.h"

namespace hgemm {
namespace {

/// Part of every key: one made in another way is another one.
constexpr std::string_view kFormat = "hgemm-tune source 1";

/// Names in #include "..." of a text without comments, which may show any.
std::vector<std::string> included_by(std::string_view text) {
  constexpr std::string_view kInclude = "#include \"";
  std::vector<std::string> names;
  for (auto at = text.find(kInclude); at != text.npos; at = text.find(kInclude, at)) {
    at += kInclude.size();
    names.emplace_back(text.substr(at, text.find('"', at) - at));
  }
  return names;
}

}  // namespace

std::string kernel_source(const Kernel& kernel) {
  std::string source;
  for (const std::string& header : kernel_headers(kernel)) {
    source += fmt::format("#include \"{}\"\n", header);
  }
  source += '\n' + kernel_definition(kernel, "kKernel", "extern \"C\"");
  // Beside the plain kernel, so that what the stamps cost can be measured.
  return source + probed_definition(kernel, "kKernel", "extern \"C\"");
}

std::string without_comments(std::string_view text) {
  std::string result;
  bool gap = false;  // white space or a comment since the last character
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view rest = text.substr(at);
    const char c = rest.front();
    if (rest.starts_with("//")) {
      at += std::min(rest.find('\n'), rest.size());
      gap = true;
    } else if (rest.starts_with("/*")) {
      const auto end = rest.find("*/", 2);
      at += end == rest.npos ? rest.size() : end + 2;
      gap = true;
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
      // A directive ends with its line.
      if (c == '\n' && !result.empty() && result.back() != '\n') result += '\n';
      gap = c != '\n';
      ++at;
    } else {
      if (gap && !result.empty() && result.back() != '\n') result += ' ';
      gap = false;
      std::size_t end = 1;
      // A quote after a digit separates digits.
      const bool quotes =
          c == '"' ||
          (c == '\'' && !(at > 0 && std::isalnum(static_cast<unsigned char>(text[at - 1]))));
      if (quotes) {
        while (end < rest.size() && rest[end] != c) end += rest[end] == '\\' ? 2 : 1;
        end = std::min(end + 1, rest.size());
      }
      result += rest.substr(0, end);
      at += end;
    }
  }
  return result;
}

JobMaker::JobMaker(std::span<const EmbeddedFile> files, std::span<const std::string> flags)
    : flags_(flags.begin(), flags.end()), compiler_(nvrtc_identity()) {
  constexpr std::string_view kFolder = "kernels/";
  for (const EmbeddedFile& file : files) {
    std::string_view name = file.path;
    if (name.starts_with(kFolder)) name.remove_prefix(kFolder.size());
    const std::string code = without_comments(file.text);
    headers_[std::string(name)] = {std::string(file.text), content_hash(code), included_by(code)};
  }
}

std::set<std::string> JobMaker::reached_from(std::vector<std::string> names) const {
  std::set<std::string> reached;
  while (!names.empty()) {
    const auto header = headers_.find(names.back());
    names.pop_back();
    // What is missing is for the compiler to say.
    if (header == headers_.end() || !reached.insert(header->first).second) continue;
    std::ranges::copy(header->second.includes, std::back_inserter(names));
  }
  return reached;
}

CompileJob JobMaker::job(const std::string& source) const {
  CompileJob job{source, {}, flags_};
  for (const std::string& name : reached_from(included_by(without_comments(source)))) {
    job.headers.emplace(name, headers_.at(name).text);
  }
  return job;
}

std::string JobMaker::source_key(const std::string& source) const {
  const std::string code = without_comments(source);
  const std::set<std::string> names = reached_from(included_by(code));
  std::vector<std::string_view> texts{kFormat, compiler_, code};
  for (const std::string& name : names) {
    texts.insert(texts.end(), {name, headers_.at(name).code_hash});
  }
  texts.insert(texts.end(), flags_.begin(), flags_.end());
  return content_hash(texts);
}

std::vector<std::string> default_compile_flags() {
  // --no-cache: what NVRTC finds in the driver's own cache (~/.nv) comes without ptxas' report of
  // registers and spills, by which we judge a kernel. No line tables: a cubin outlives an edit of
  // comments, which moves lines.
  return {"--gpu-architecture=sm_90a", "-std=c++20", "--ptxas-options=-v", "--no-cache"};
}

std::string kernel_source_hash(std::span<const EmbeddedFile> kernel_files) {
  std::vector<EmbeddedFile> files(kernel_files.begin(), kernel_files.end());
  std::ranges::sort(files, {}, &EmbeddedFile::path);
  std::vector<std::string> stripped;
  for (const EmbeddedFile& file : files) {
    stripped.emplace_back(file.path);
    stripped.push_back(without_comments(file.text));
  }
  const std::vector<std::string_view> texts(stripped.begin(), stripped.end());
  return content_hash(texts);
}

}  // namespace hgemm
